//go:build !linux

package main

// tmpfs is Linux's.
func tmpfs() string { return "" }
