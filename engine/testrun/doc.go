// Package testrun runs the tests of workflows: `*.test.yaml` files with mocked
// or recorded answers (docs/language.md, rule 23; docs/testing.md). A case drives the
// real Machine by a virtual clock: waits pass at once, no plugin is called and
// nothing is sent. Answers are checked against the schemas of the actions,
// inputs against the schemas and by the plugins' own Validate.
package testrun
