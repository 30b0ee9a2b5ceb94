//go:build !linux

package confine

import "errors"

// Apply holds nothing here.
func Apply(Rules) (started func(), err error) {
	return nil, errors.New("this system has no sandbox that flowrun can use")
}

// Probe tells that nothing is held here.
func Probe() []Part {
	var parts []Part
	for _, name := range []string{PartFiles, PartPorts, PartSignals, PartCalls, PartGroup, PartPrivileges} {
		parts = append(parts, Part{Name: name, Why: "this system has no sandbox that flowrun can use"})
	}
	return parts
}
