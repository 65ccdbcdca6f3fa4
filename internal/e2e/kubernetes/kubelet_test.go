//go:build linux

package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

// A kubelet is the node's, with all its folders in one of the tests'.
type kubelet struct {
	process *bed.Process
	program string
	dir     string
	healthz string
}

func newKubelet(server *apiServer, runtime *containerd) (*kubelet, error) {
	dir, err := folder("kubelet")
	if err != nil {
		return nil, err
	}
	k := &kubelet{dir: dir}
	if k.program, err = bed.Build(".", "k8s.io/kubernetes/cmd/kubelet", "kubelet"); err != nil {
		return nil, err
	}
	if err := k.writeKubeconfig(server); err != nil {
		return nil, err
	}
	return k, k.writeConfig(runtime)
}

// start starts the kubelet, for the first time or again. Its memory of the
// tokens that it mounted is lost in between, so it gets new ones.
func (k *kubelet) start() (err error) {
	k.process, err = bed.Start(k.dir, k.program,
		"--config="+filepath.Join(k.dir, "config.json"),
		"--kubeconfig="+filepath.Join(k.dir, "kubeconfig"),
		"--hostname-override="+nodeName,
		"--root-dir="+k.root(),
		"--cert-dir="+filepath.Join(k.dir, "pki"))
	if err != nil {
		return err
	}
	return k.process.Until(func() error { return bed.Healthy(http.DefaultClient, k.healthz) })
}

// writeKubeconfig lets the kubelet in to the API server as its node.
func (k *kubelet) writeKubeconfig(server *apiServer) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = &clientcmdapi.Cluster{
		Server: server.config.Host, CertificateAuthority: server.config.CAFile,
	}
	config.AuthInfos["node"] = &clientcmdapi.AuthInfo{Token: server.nodeKey}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "node"}
	config.CurrentContext = "e2e"
	return clientcmd.WriteToFile(*config, filepath.Join(k.dir, "kubeconfig"))
}

func (k *kubelet) writeConfig(runtime *containerd) error {
	port, err := loopbackPort()
	if err != nil {
		return err
	}
	healthzPort, err := loopbackPort()
	if err != nil {
		return err
	}
	k.healthz = fmt.Sprintf("http://127.0.0.1:%d/healthz", healthzPort)
	config := kubeletConfig()
	config.Port, config.HealthzPort = port, &healthzPort
	config.ContainerRuntimeEndpoint = "unix://" + runtime.socket()
	config.PodLogsDir = filepath.Join(k.dir, "logs")
	config.VolumePluginDir = filepath.Join(k.dir, "volume-plugins")
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(k.dir, "config.json"), text, 0o600)
}

// kubeletConfig makes a kubelet that leaves the machine alone: its control
// groups, its swap, its firewall, its disks.
func kubeletConfig() kubeletv1beta1.KubeletConfiguration {
	return kubeletv1beta1.KubeletConfiguration{
		TypeMeta: metav1.TypeMeta{Kind: "KubeletConfiguration", APIVersion: "kubelet.config.k8s.io/v1beta1"},
		Address:  "127.0.0.1",

		CgroupDriver:           "cgroupfs",
		CgroupsPerQOS:          ptr.To(false),
		EnforceNodeAllocatable: []string{"none"},
		FailCgroupV1:           ptr.To(false),
		FailSwapOn:             ptr.To(false),
		MakeIPTablesUtilChains: ptr.To(false),
		OOMScoreAdj:            ptr.To(int32(0)),
		ResolverConfig:         ptr.To(""),

		LocalStorageCapacityIsolation: ptr.To(false),
		EvictionHard:                  map[string]string{"memory.available": "1Mi"},
		ImageGCHighThresholdPercent:   ptr.To(int32(100)), // never

		SyncFrequency: metav1.Duration{Duration: 5 * time.Second},
	}
}

func (k *kubelet) root() string { return filepath.Join(k.dir, "root") }

// volume is where a pod's volume is mounted for the kubelet itself.
func (k *kubelet) volume(pod *corev1.Pod, plugin, name string) string {
	return filepath.Join(k.root(), "pods", string(pod.UID), "volumes", "kubernetes.io~"+plugin, name)
}

// loopbackPort is a port of the loopback interface that nobody listens on.
func loopbackPort() (int32, error) {
	address, err := bed.LoopbackURL("http")
	if err != nil {
		return 0, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	port, err := strconv.ParseInt(u.Port(), 10, 32)
	return int32(port), err
}
