package testrun

// Version is the version of the form of test files.
const Version = "v1"

// The codes of problems in test files.
const (
	CodeVersion     = "FR6001"
	CodeShape       = "FR6002"
	CodeUnknownKey  = "FR6003"
	CodeMissingKey  = "FR6004"
	CodeWord        = "FR6005"
	CodeValue       = "FR6006"
	CodeWorkflow    = "FR6007"
	CodeUnknownStep = "FR6008"
	CodeNotMockable = "FR6009"
	CodeAnswer      = "FR6010"
	CodeOutput      = "FR6011"
	CodeInput       = "FR6012"
	CodeExpression  = "FR6013"
	CodeDuplicate   = "FR6014"
)
