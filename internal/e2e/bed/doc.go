// Package bed starts the real servers that several end-to-end modules test
// against, as processes on the loopback interface. It needs the standard
// library only, so that none of those modules gets another one's versions: a
// server is built within the module that pins it.
package bed
