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
	CodeOtherProduct = "FR1023"
)
