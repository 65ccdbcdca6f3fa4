// Command empty does nothing: what every program has.
package main

func main() {}
