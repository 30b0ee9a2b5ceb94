package project

// The codes of problems in the project file, in what it names and in the user's
// settings.
const (
	CodeShape        = "FR5001"
	CodeUnknownKey   = "FR5002"
	CodeName         = "FR5003"
	CodeRate         = "FR5004"
	CodeNoSource     = "FR5005"
	CodeProvider     = "FR5006"
	CodeDuration     = "FR5007"
	CodeNumber       = "FR5008"
	CodeNoSetting    = "FR5010"
	CodeSecretHere   = "FR5011"
	CodeLiteral      = "FR5012"
	CodeSetting      = "FR5013"
	CodeNoPlugin     = "FR5015"
	CodeSettingLacks = "FR5016"
	CodeSecretLacks  = "FR5017"
	CodeConnection   = "FR5018"
	CodeTarget       = "FR5019"
	CodeNotTold      = "FR5020"
	CodeTargetKind   = "FR5021"
	CodeAddress      = "FR5022"
	CodeCertificate  = "FR5023"
	CodeGrant        = "FR5024"
	CodeTold         = "FR5025"
	CodeSandbox      = "FR5030"
	CodeSimulator    = "FR5031"
)
