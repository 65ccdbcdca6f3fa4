package doctor_test

import (
	"context"
	"fmt"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
)

// A program that needs a token for openbao, and was started without one.
func ExampleExamine() {
	report := doctor.Examine(context.Background(), doctor.Options{
		Paths:  []string{"/var/run/secrets/tokens/openbao/token"},
		Expect: []doctor.Expectation{{Audience: "openbao"}},
	})
	fmt.Println("healthy:", report.Healthy())
	for _, f := range report.Findings {
		fmt.Println(f.Rule, f.Level, f.Token)
	}
	// Output:
	// healthy: false
	// PD002 error /var/run/secrets/tokens/openbao/token
	// PD017 error
}
