//go:build linux

package kubernetes

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

// The images of the pods. They come from no registry: each holds one static
// program.
const (
	readerImage = "podtoken.test/reader:e2e"
	pauseImage  = "podtoken.test/pause:e2e"
	doctorImage = "podtoken.test/podtoken:e2e" // the podtoken command as it is released
)

// programs are the folders of the images' programs.
var programs = map[string]string{
	readerImage: "reader",
	pauseImage:  "pause",
	doctorImage: filepath.Join("..", "..", "..", "cmd", "podtoken"),
}

// writeImage builds an image's program and writes an image with nothing but
// it, in the format of docker save.
func writeImage(name, file string) error {
	folder := programs[name]
	binary, err := bed.Build(folder, ".", filepath.Base(folder), "CGO_ENABLED=0")
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	layer, err := archive(entry{"app", 0o755, content})
	if err != nil {
		return err
	}
	config, err := json.Marshal(imageConfig(layer))
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{
		"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return err
	}
	image, err := archive(
		entry{"manifest.json", 0o644, manifest}, entry{"config.json", 0o644, config}, entry{"layer.tar", 0o644, layer})
	if err != nil {
		return err
	}
	return os.WriteFile(file, image, 0o644)
}

func imageConfig(layer []byte) map[string]any {
	return map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{"/app"}},
		"rootfs": map[string]any{
			"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))},
		},
	}
}

type entry struct {
	name    string
	mode    int64
	content []byte
}

// archive makes a tar archive.
func archive(entries ...entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content))}); err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, bytes.NewReader(e.content)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}
