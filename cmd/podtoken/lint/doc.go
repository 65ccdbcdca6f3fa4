// Package lint finds in Kubernetes manifests, and in what kubectl prints of a
// running cluster, what will break a pod's token or its AWS identity later.
//
//	linter := &lint.Linter{}
//	for finding, err := range linter.Lint("deploy.yaml", file) {
//		if err != nil {
//			log.Print(err) // with the line; the other documents are still read
//			continue
//		}
//		fmt.Println(finding)
//	}
//	for finding := range linter.Finish() { // what needs all of the input
//		fmt.Println(finding)
//	}
//
// # Input
//
// YAML or JSON, of any number of documents: files, what helm template and
// kustomize build print, and lists as of kubectl get -o json. Pods and pod
// templates are found in objects of any kind, Argo Rollouts among them. A list
// is read item by item, so its size does not matter; one object may have 8 MiB.
//
// # Rules
//
// [Rules] has them, each with its reason and its mend. Most look at one object.
// Those that compare objects, such as a service account with its association,
// are reported by [Linter.Finish].
//
// # Silences
//
// A finding that is wanted is silenced with a reason, for an object by an
// annotation on it or on its pod template, for a line by a comment on it or
// above it:
//
//	metadata:
//	  annotations:
//	    podtoken.dev/ignore: "PT013: lists pods; the binding is in another repository"
//
//	# podtoken:ignore PT006 the batch runs for two days without the kubelet
//	expirationSeconds: 172800
//
// Several rules are separated by commas, several silences in one annotation by
// semicolons or lines. A silence without a reason is a finding, and so is one
// that silences nothing. [Linter.Ignore] is for manifests of others.
//
// # Secrets
//
// What a manifest holds of a Secret's data or of a variable's value is in no
// finding and in no error, but for the path of a file.
package lint
