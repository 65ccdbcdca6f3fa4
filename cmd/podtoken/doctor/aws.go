package doctor

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/cmd/podtoken/container"
	"github.com/podtoken/podtoken/tokenfile"
)

// AWSOptions make awspodid look at the container at root, whose environment is
// given as os.Environ has it.
func AWSOptions(root string, environment []string) func(*awspodid.Options) {
	return func(o *awspodid.Options) {
		o.Lookup = func(name string) (string, bool) {
			value, ok := find(environment, name)
			if strings.HasSuffix(name, "_TOKEN_FILE") {
				value = container.Resolve(root, value)
			}
			return value, ok
		}
		o.ServiceAccountDir = filepath.Join(root, container.ServiceAccountDir)
	}
}

// find returns a variable of an environment.
func find(environment []string, name string) (value string, ok bool) {
	for _, v := range slices.Backward(environment) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// lookAtAWS reports what was injected. A pod that never wanted an AWS identity
// is none the worse for having none.
func (e *examination) lookAtAWS() {
	options := AWSOptions(e.Root, e.environment)
	in := awspodid.Inspect(options)
	hinted := hints(in)
	if !e.ExpectAWS && in.Empty() && in.Mounted == "" && !hinted {
		return
	}
	e.report.AWS = &AWS{Expected: e.ExpectAWS, Variables: e.variables(in)}
	provider, err := awspodid.New(options)
	if err == nil {
		e.report.AWS.Mechanism = string(provider.Mechanism())
	}
	e.checkInjection(err)
	if in.Overridden != "" && (e.ExpectAWS || !in.Empty()) {
		f := e.find(ruleOverridden, nil, "the AWS SDK's own chain takes what this variable says before what was injected")
		f.Variable = in.Overridden
	}
}

// hints says that a variable asks for AWS, and none gives credentials of
// another kind.
func hints(in awspodid.Injection) bool {
	return in.Overridden == "" && slices.ContainsFunc(in.Variables, func(v awspodid.Variable) bool { return v.Set })
}

func (e *examination) variables(in awspodid.Injection) []Variable {
	list := []Variable{}
	for _, v := range in.Variables {
		if v.Set {
			value := strings.TrimPrefix(v.Value, strings.TrimSuffix(filepath.Clean(e.Root), "/"))
			list = append(list, Variable{v.Name, bounded(value, maxName)})
		}
	}
	return list
}

func (e *examination) checkInjection(err error) {
	var half *awspodid.InjectionError
	switch {
	case err == nil:
	case errors.As(err, &half):
		if !e.isKnown(half) {
			f := e.find(ruleInjection, nil, errorText(e.Root, err))
			f.Variable = half.Variable
			if half.Variable == "AWS_REGION" {
				f.Mend = "set AWS_REGION in the pod's manifest"
			}
		}
	case e.ExpectAWS, e.report.AWS.isMounted(err):
		e.find(ruleNotInjected, nil, errorText(e.Root, err))
	default:
		f := e.find(ruleNotInjected, nil, errorText(e.Root, err))
		f.Level = LevelNote // some variable speaks of AWS, and nobody said that this pod needs an identity of its own
	}
}

// isMounted says that the webhook's token is there, and its variables are not.
func (*AWS) isMounted(err error) bool {
	var none *awspodid.NotInjectedError
	return errors.As(err, &none) && none.Injection.Mounted != ""
}

// isKnown says that the injection fails for a token about which there is a
// finding: one cause is reported once.
func (e *examination) isKnown(half *awspodid.InjectionError) bool {
	var file *tokenfile.Error
	if !errors.As(half.Err, &file) {
		return false
	}
	return slices.ContainsFunc(e.report.Findings, func(f Finding) bool {
		return f.Level == LevelError && f.Variable == half.Variable && f.Rule != ruleSubPath.ID
	})
}
