// Command http asks a server once: what most programs have.
package main

import "net/http"

func main() { _, _ = http.Get("http://127.0.0.1:1") }
