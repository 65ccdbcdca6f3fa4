// Package kubernetes holds podtoken against the real thing: a kube-apiserver
// that issues the tokens, the kubelet's own code that rotates them, and, where
// the machine can run containers, a whole kubelet with pods in it. README.md
// says what each part needs and proves.
//
// Outside the tests it holds only what the pods' program and the tests share.
package kubernetes
