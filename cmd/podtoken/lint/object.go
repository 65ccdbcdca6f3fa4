package lint

import "strings"

// object is one with a kind, in a file.
type object struct {
	file     string
	kind     string
	name     string
	space    string // its namespace; "" where the manifest leaves it to kubectl
	root     *node
	comments []comment

	findings []Finding
	later    []*pending
}

func newObject(file string, p piece) *object {
	kind := p.root.at("kind").str()
	if kind == "" {
		kind = p.kind
	}
	if kind == "" && p.root.at("spec", "containers").list() != nil {
		kind = "Pod" // an item of a typed list, which names its kind behind its items or not at all
	}
	return &object{
		file:     file,
		kind:     kind,
		name:     p.root.at("metadata", "name").str(),
		space:    p.root.at("metadata", "namespace").str(),
		root:     p.root,
		comments: p.comments,
	}
}

// String names it as a person would: Deployment shop/web.
func (o *object) String() string {
	name := o.name
	if name == "" {
		name = o.root.at("metadata", "generateName").str()
	}
	if o.space != "" && name != "" {
		name = o.space + "/" + name
	}
	return printable(strings.TrimSpace(o.kind + " " + name))
}

func (o *object) annotation(key string) string {
	return o.root.at("metadata", "annotations", key).str()
}

// report adds a finding; mend is the rule's if it is empty.
func (o *object) report(rule *Rule, line int, message, mend string) {
	o.findings = append(o.findings, o.finding(rule, line, message, mend))
}

// reportIf adds one that the rest of the input decides on.
func (o *object) reportIf(when func(*facts) bool, rule *Rule, line int, message, mend string) {
	o.later = append(o.later, &pending{finding: o.finding(rule, line, message, mend), when: when})
}

// owner is the controller that made an object, such as a pod's ReplicaSet: "" if
// none did.
func (o *object) owner() string {
	for _, reference := range o.root.at("metadata", "ownerReferences").list() {
		if reference.at("controller").isTrue() {
			return reference.at("kind").str() + " " + o.space + "/" + reference.at("name").str()
		}
	}
	return ""
}

// postpone leaves what is wrong with a template to the object that has it, and
// says it here only if that one is not in the input. What is wrong with a pod
// that runs is its own.
func (o *object) postpone(owner string) {
	for _, f := range o.findings {
		o.later = append(o.later, &pending{finding: f})
	}
	o.findings = nil
	for _, p := range o.later {
		if p.finding.Rule != ruleNotInjected.ID {
			p.owner = owner
		}
	}
}

func (o *object) finding(rule *Rule, line int, message, mend string) Finding {
	if mend == "" {
		mend = rule.Mend
	}
	return Finding{
		Rule: rule.ID, Level: rule.Level, File: o.file, Line: line, Object: o.String(), Message: message, Mend: mend,
	}
}

// templates are the pods that an object makes or is: a spec with containers,
// wherever it is. So kinds need not be known: Argo's Rollout, Knative's Service.
// Where there is none, volumes are looked at alone: Argo's Workflow, Tekton's Task.
func (o *object) templates() []*pod {
	if o.holdsNoPods() {
		return nil
	}
	if o.kind == "Pod" {
		if o.root.at("spec").has("containers") {
			return []*pod{newPod(o, o.root)}
		}
		return nil
	}
	var found []*pod
	o.root.walk(func(n *node) bool {
		if n != o.root && n.at("spec", "containers").list() != nil {
			found = append(found, newPod(o, n))
			return false
		}
		return true
	})
	if found != nil {
		return found
	}
	if p := newVolumes(o); p.spec.at("volumes").list() != nil {
		found = append(found, p)
	}
	return found
}

// policyGroups are of objects that show what others shall look like.
var policyGroups = []string{"kyverno.io", "gatekeeper.sh", "admissionregistration.k8s.io"}

func (o *object) holdsNoPods() bool {
	switch o.kind {
	case "CustomResourceDefinition", "ConfigMap", "Secret":
		return true
	}
	group, _, _ := strings.Cut(o.root.at("apiVersion").str(), "/")
	for _, g := range policyGroups {
		if group == g || strings.HasSuffix(group, "."+g) {
			return true
		}
	}
	return false
}
