// Command byhand reads a token and looks at its claims with golang-jwt.
package main

import (
	"os"

	"github.com/golang-jwt/jwt/v5"
)

func main() {
	var claims jwt.RegisteredClaims
	content, _ := os.ReadFile("token")
	_, _, _ = jwt.NewParser().ParseUnverified(string(content), &claims)
}
