//go:build linux

package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

// doctorImage holds the podtoken command, as it is released, and nothing else.
const doctorImage = "podtoken.test/podtoken:e2e"

// loadDoctor builds it and puts it where the kubelet finds it.
func (n *node) loadDoctor() error {
	binary, err := bed.Build(filepath.Join("..", "..", "..", "cmd", "podtoken"), ".", "podtoken", "CGO_ENABLED=0")
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
		"Config": "config.json", "RepoTags": []string{doctorImage}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return err
	}
	image, err := archive(
		entry{"manifest.json", 0o644, manifest}, entry{"config.json", 0o644, config}, entry{"layer.tar", 0o644, layer})
	if err != nil {
		return err
	}
	file := filepath.Join(n.containerd.dir, "podtoken.tar")
	if err := os.WriteFile(file, image, 0o644); err != nil {
		return err
	}
	_, err = n.containerd.ctr("images", "import", "--snapshotter=native", file)
	return err
}
