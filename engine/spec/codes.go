package spec

// The codes of problems in the YAML text and in the words of a workflow.
const (
	CodeSyntax       = "FR1001"
	CodeEncoding     = "FR1002"
	CodeLimit        = "FR1003"
	CodeEmpty        = "FR1004"
	CodeDocuments    = "FR1005"
	CodeDuplicateKey = "FR1006"
	CodeKeyType      = "FR1007"
	CodeAnchor       = "FR1008"
	CodeTag          = "FR1009"
	CodeNotANumber   = "FR1010"
	CodeUnknownKey   = "FR1011"
	CodeShape        = "FR1012"
	CodeTwoKinds     = "FR1013"
	CodeKeyOfKind    = "FR1014"
	CodeNoKind       = "FR1015"
	CodeVersion      = "FR1016"
	CodeMissingKey   = "FR1017"
	CodeNoElements   = "FR1018"
	CodeNodes        = "FR1019"
	CodeNesting      = "FR1020"
	CodeKeys         = "FR1021"
	CodeScalarBytes  = "FR1022"
)

// Codes returns every code of this package with its title.
func Codes() map[string]string {
	return map[string]string{
		CodeSyntax:       "the file is not YAML",
		CodeEncoding:     "the file is not plain UTF-8 text",
		CodeLimit:        "the file is too large",
		CodeEmpty:        "the file is empty",
		CodeDocuments:    "the file has several YAML documents",
		CodeDuplicateKey: "a key is written twice in one map",
		CodeKeyType:      "a key is not text",
		CodeAnchor:       "anchors, aliases and merge keys are not allowed",
		CodeTag:          "a YAML tag is not allowed",
		CodeNotANumber:   "infinity and not-a-number are not values",
		CodeUnknownKey:   "a key is not known here",
		CodeShape:        "a value has the wrong shape",
		CodeTwoKinds:     "a step is two kinds of step at once",
		CodeKeyOfKind:    "a key does not belong to this kind of step",
		CodeNoKind:       "a step does nothing",
		CodeVersion:      "the language version is missing or not known",
		CodeMissingKey:   "a key is missing",
		CodeNoElements:   "a list or map that needs an element is empty",
		CodeNodes:        "the file has too many values",
		CodeNesting:      "the file is nested too deep",
		CodeKeys:         "a map has too many keys",
		CodeScalarBytes:  "a text is too long",
	}
}
