module github.com/podtoken/podtoken/examples

go 1.25.0

require (
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/podtoken/podtoken v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/podtoken/podtoken => ..
