package lint

import (
	"fmt"
	"strings"
)

const (
	roleAnnotation   = "eks.amazonaws.com/role-arn"
	skipAnnotation   = "eks.amazonaws.com/skip-containers"
	skipLabel        = "eks.amazonaws.com/skip-pod-identity-webhook"
	mirrorAnnotation = "kubernetes.io/config.mirror" // a static pod, which has no service account
	fargateLabel     = "eks.amazonaws.com/fargate-profile"
)

// checkAutomount asks for the API server's token to be left out where nothing
// speaks for it: the default account, which may do nothing unless somebody gave
// it a role, or a pod that has a token of its own for somebody else. It says
// nothing where the input cannot know: of a running pod without the cluster's
// bindings, of an account that is not here, of a pod that an operator completes.
func checkAutomount(p *pod) {
	on, decided := p.automounts()
	if !on || p.partial || p.isHelmTest() {
		return
	}
	account, live := inSpace{p.space, p.account()}, p.live
	why := ""
	switch {
	case account.name == "default" && completeKinds[p.kind]:
		why = "the pod mounts the token of the default service account, which no binding here allows anything"
	case account.name != "default" && p.ownToken():
		why = "the pod has a token of its own, and mounts the API server's too; no binding here allows its service account anything"
	default:
		return
	}
	line := p.specLine
	for _, key := range []string{"serviceAccountName", "automountServiceAccountToken"} {
		if p.spec.has(key) {
			line = p.spec.lineOf(key)
		}
	}
	p.reportIf(func(f *facts) bool {
		known := f.bindings || !live && (account.name == "default" || f.accounts.has(account))
		return known && !f.isBound(account) && (decided || !f.noAutomount.has(account))
	}, ruleAutomount, line, why, "")
}

// completeKinds are those whose template is the whole pod: an operator sets the
// service account of its own.
var completeKinds = map[string]bool{
	"Pod": true, "Deployment": true, "ReplicaSet": true, "StatefulSet": true, "DaemonSet": true, "Job": true, "CronJob": true,
	"ReplicationController": true, "Rollout": true, "DeploymentConfig": true, "Service": true,
}

// isHelmTest knows the pods that helm test runs for a moment: one is in each
// chart.
func (p *pod) isHelmTest() bool {
	return strings.HasPrefix(p.annotation("helm.sh/hook"), "test")
}

func (p *pod) ownToken() bool {
	for _, t := range p.tokens {
		if !t.isForAPIServer() {
			return true
		}
	}
	return false
}

// checkAccount finds two identities on one service account.
func checkAccount(o *object) {
	if o.kind != "ServiceAccount" || o.annotation(roleAnnotation) == "" {
		return
	}
	account := inSpace{o.space, o.name}
	o.reportIf(func(f *facts) bool { return f.associated.has(account) },
		ruleTwoIdentities, o.root.at("metadata", "annotations").lineOf(roleAnnotation),
		"the service account has a role by this annotation, and another by an association", "")
}

// checkInjection finds pods that the webhook did not see. One that has ended,
// or is about to, is not worth a finding, and one that asked the webhook to pass
// it by has what it wants.
func checkInjection(p *pod) {
	phase := p.root.at("status", "phase").str()
	if !p.live || p.annotation(mirrorAnnotation) != "" || phase == "Succeeded" || phase == "Failed" || p.metadata.has("deletionTimestamp") ||
		p.metadata.at("labels").has(skipLabel) {
		return
	}
	skipped := strings.Split(p.annotation(skipAnnotation), ",")
	wanted, irsa := 0, false
	for _, c := range p.containers {
		if c.has("targetContainerName") || contains(skipped, c.name) {
			continue
		}
		wanted++
		for _, env := range c.at("env").list() {
			switch env.at("name").str() {
			case "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE":
				return
			case "AWS_WEB_IDENTITY_TOKEN_FILE":
				irsa = true
			}
		}
	}
	if wanted == 0 {
		return
	}
	account := inSpace{p.space, p.account()}
	message := fmt.Sprintf("service account %s has an association, and the pod has no AWS_CONTAINER_* variables: they were never injected", quote(account.name))
	if irsa {
		message += "; it got those of IRSA, and with them another role"
	}
	p.reportIf(func(f *facts) bool { return f.associated.has(account) },
		ruleNotInjected, p.metadata.lineOf("name"), message, p.recreate())
}

func (p *pod) recreate() string {
	space := p.space
	if space == "" {
		space = "NAMESPACE"
	}
	switch {
	case p.metadata.at("labels").has(fargateLabel):
		return "Fargate has no Pod Identity agent: use IRSA, or run the pod on a node"
	case p.metadata.has("ownerReferences"):
		return fmt.Sprintf("recreate it: kubectl -n %s delete pod %s; a restart of its containers does not help", printable(space), printable(p.name))
	}
	return fmt.Sprintf("nothing owns it, so delete it and create it again: kubectl -n %s delete pod %s; a restart of its containers does not help", printable(space), printable(p.name))
}

func contains(list []string, name string) bool {
	for _, s := range list {
		if strings.TrimSpace(s) == name {
			return true
		}
	}
	return false
}
