package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// sarif prints SARIF 2.1.0. The types have what code scanning shows; a library
// for the whole standard would link an HTTP client with its schemas.
type sarif struct {
	w, stderr io.Writer
	log       sarifLog
	index     map[string]int // of the rules
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID            string        `json:"id"`
	Short         sarifMessage  `json:"shortDescription"`
	Full          sarifMessage  `json:"fullDescription"`
	Help          sarifMessage  `json:"help"`
	Configuration sarifDefaults `json:"defaultConfiguration"`
}

type sarifDefaults struct {
	Level lint.Level `json:"level"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level     lint.Level      `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     lint.Level      `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

func newSARIF(w, stderr io.Writer) *sarif {
	driver := sarifDriver{Name: "podtoken", Version: version(), InformationURI: "https://github.com/podtoken/podtoken"}
	index := make(map[string]int)
	for i, r := range lint.Rules() {
		index[r.ID] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: r.ID, Short: sarifMessage{r.Title}, Full: sarifMessage{r.Reason}, Help: sarifMessage{r.Mend},
			Configuration: sarifDefaults{r.Level},
		})
	}
	return &sarif{w: w, stderr: stderr, index: index, log: sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool: sarifTool{driver}, Invocations: []sarifInvocation{{Successful: true}}, Results: []sarifResult{},
		}},
	}}
}

func (s *sarif) finding(f lint.Finding) {
	location := sarifAt(f.File, f.Line)
	if f.Object != "" {
		location.Logical = []sarifLogical{{f.Object}}
	}
	run := &s.log.Runs[0]
	run.Results = append(run.Results, sarifResult{
		RuleID: f.Rule, RuleIndex: s.index[f.Rule], Level: f.Level,
		Message:   sarifMessage{fmt.Sprintf("%s. Mend: %s", f.Message, f.Mend)},
		Locations: []sarifLocation{location},
	})
}

func (s *sarif) unreadable(err error) {
	fmt.Fprintln(s.stderr, err)
	notification := sarifNotification{Level: lint.LevelError, Message: sarifMessage{err.Error()}}
	var document *lint.DocumentError
	if errors.As(err, &document) {
		notification.Locations = []sarifLocation{sarifAt(document.File, document.Line)}
	}
	invocation := &s.log.Runs[0].Invocations[0]
	invocation.Successful = false
	invocation.Notifications = append(invocation.Notifications, notification)
}

func (s *sarif) end() error { return writeJSON(s.w, s.log) }

// sarifAt makes a file's name a URI: relative as it is, as code scanning wants.
func sarifAt(file string, line int) sarifLocation {
	uri := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		uri.Scheme = "file"
		uri.Path = "/" + strings.TrimPrefix(uri.Path, "/") // before a drive's letter too
	}
	return sarifLocation{Physical: sarifPhysical{sarifArtifact{uri.String()}, sarifRegion{line}}}
}
