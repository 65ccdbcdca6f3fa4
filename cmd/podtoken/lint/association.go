package lint

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Association is one of EKS Pod Identity: the service account whose pods get
// a role.
type Association struct {
	Cluster        string // empty if the list does not say
	Namespace      string
	ServiceAccount string
}

// ErrNoAssociations is what [ReadAssociations] returns for a file that it can
// read and that has none: rather the wrong file than a cluster without.
var ErrNoAssociations = errors.New("no Pod Identity associations in it")

// ReadAssociations reads a list of associations, in any of the forms that
// people have them in:
//
//   - what aws eks list-pod-identity-associations prints
//   - what terraform show -json prints of a state or a plan, or a state file
//   - eksctl's file of a cluster, or what eksctl get podidentityassociation -o json prints
//   - manifests of Crossplane or ACK, or kubectl get of them, YAML or JSON
//   - a plain list: a line NAMESPACE/SERVICE_ACCOUNT for each, or the same as
//     a sequence of YAML or JSON
//
// It returns a [*DocumentError] for the first that it cannot read.
func ReadAssociations(name string, r io.Reader) ([]Association, error) {
	var found []Association
	var failed error
	err := readAll(r, sink{
		most: maxState,
		piece: func(p piece) bool {
			for _, object := range p.objects() {
				found = append(found, associations(object.root)...)
			}
			return true
		},
		err: func(line int, err error) bool {
			failed = &DocumentError{File: name, Line: line, Err: err}
			return false
		},
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", printable(name), err)
	case failed != nil:
		return nil, failed
	case len(found) == 0:
		return nil, fmt.Errorf("%s: %w", printable(name), ErrNoAssociations)
	}
	return found, nil
}

// associations are those of a document, whatever it is.
func associations(root *node) []Association {
	var found []Association
	add := func(n *node) {
		if a, ok := declared(n); ok {
			found = append(found, a)
		}
	}
	switch {
	case root.str() != "":
		return plain(root.str())
	case root.has("associations"): // aws eks list-…
		for _, n := range root.at("associations").list() {
			add(n)
		}
	case root.has("association"): // aws eks describe-…
		add(root.at("association"))
	case root.has("iam"): // eksctl's file of a cluster
		for _, n := range root.at("iam", "podIdentityAssociations").list() {
			if a, ok := declared(n); ok {
				a.Cluster = root.at("metadata", "name").str()
				found = append(found, a)
			}
		}
	case root.has("values") || root.has("planned_values"): // terraform show -json
		for _, key := range []string{"values", "planned_values"} {
			found = append(found, ofModule(root.at(key, "root_module"), 0)...)
		}
	case root.at("resources").list() != nil: // terraform.tfstate
		for _, resource := range root.at("resources").list() {
			for _, instance := range resource.at("instances").list() {
				if resource.at("type").str() == terraformType {
					add(instance.at("attributes"))
				}
			}
		}
	default:
		add(root)
	}
	return found
}

const terraformType = "aws_eks_pod_identity_association"

func ofModule(module *node, depth int) []Association {
	var found []Association
	for _, resource := range module.at("resources").list() {
		if resource.at("type").str() == terraformType {
			if a, ok := declared(resource.at("values")); ok {
				found = append(found, a)
			}
		}
	}
	for _, child := range module.at("child_modules").list() {
		if depth < maxDepth {
			found = append(found, ofModule(child, depth+1)...)
		}
	}
	return found
}

// declared reads one, as AWS, Terraform, Crossplane or ACK write it.
func declared(n *node) (Association, bool) {
	for _, path := range [][]string{{"spec", "forProvider"}, {"spec"}} {
		if spec := n.at(path...); spec != nil {
			n = spec
			break
		}
	}
	first := func(keys ...string) string {
		for _, key := range keys {
			if s := n.at(key).str(); s != "" {
				return s
			}
		}
		return ""
	}
	a := Association{
		Cluster:        first("clusterName", "cluster_name"),
		Namespace:      first("namespace", "Namespace"),
		ServiceAccount: first("serviceAccount", "service_account", "serviceAccountName", "ServiceAccountName"),
	}
	return a, a.Namespace != "" && a.ServiceAccount != ""
}

// plain reads NAMESPACE/SERVICE_ACCOUNT. Lines of them are one scalar to YAML.
func plain(text string) []Association {
	var found []Association
	for field := range strings.FieldsSeq(text) {
		if space, account, ok := strings.Cut(field, "/"); ok && space != "" && account != "" && !strings.Contains(account, "/") {
			found = append(found, Association{Namespace: space, ServiceAccount: account})
		}
	}
	return found
}
