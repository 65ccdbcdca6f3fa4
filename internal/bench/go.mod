module github.com/podtoken/podtoken/internal/bench

go 1.26.0

require (
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/podtoken/podtoken v0.0.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/oauth2 v0.38.0
	k8s.io/client-go v0.37.2
)

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.57.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	k8s.io/apimachinery v0.37.2 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
	k8s.io/utils v0.0.0-20260626114624-be93311217bd // indirect
)

replace github.com/podtoken/podtoken => ../..
