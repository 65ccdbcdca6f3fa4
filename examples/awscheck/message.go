package main

import (
	"os"
	"unicode/utf8"
)

// maxMessage is how many bytes Kubernetes keeps of a container's termination
// message. It keeps the last ones, and the reason is in the first. All
// containers of a pod together have 12 KiB, init containers among them.
const maxMessage = 4096

const ellipsis = "..."

// bounded is text that Kubernetes keeps as it is.
func bounded(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(text[cut]) { // half a letter would be shown as something else
		cut--
	}
	return text[:cut] + ellipsis
}

// writeMessage replaces a termination message. The kubelet has made the file;
// where there is none this is no container, and it is not made up.
func writeMessage(path, text string) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(bounded(text))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
