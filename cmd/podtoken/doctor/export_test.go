package doctor

// Runbook is the address of the sections.
const Runbook = runbook

// See is the address of a rule's section.
func (r Rule) See() string { return runbook + r.section }
