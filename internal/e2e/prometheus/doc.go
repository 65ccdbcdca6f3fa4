// Package prometheus holds the alert rules of deploy/ against Prometheus' own
// evaluation of rules, and the configuration that counts rejected logins
// against the OpenTelemetry Collector. README.md says what each part proves.
package prometheus
