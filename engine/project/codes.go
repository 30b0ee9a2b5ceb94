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
	CodeSandbox      = "FR5030"
	CodeSimulator    = "FR5031"
)

// Codes returns every code of this table with its title.
func Codes() map[string]string {
	return map[string]string{
		CodeShape:        "a value of the project file has the wrong shape",
		CodeUnknownKey:   "a key is not known in this file",
		CodeName:         "a name of the project file is not valid",
		CodeRate:         "a rate is not valid",
		CodeNoSource:     "a plugin has no source",
		CodeProvider:     "a secret provider is not known",
		CodeDuration:     "a duration of the project file is not valid",
		CodeNumber:       "a number of the project file is not valid",
		CodeNoSetting:    "a connection has no such setting",
		CodeSecretHere:   "a secret can not stand in this setting",
		CodeLiteral:      "a setting is neither text nor one secret",
		CodeSetting:      "a setting does not fit its schema",
		CodeNoPlugin:     "the plugin of a connection is not there",
		CodeSettingLacks: "a setting of a connection is missing",
		CodeSecretLacks:  "a secret is not set",
		CodeConnection:   "a connection can not be used",
		CodeTarget:       "a target of core.notify is not valid",
		CodeNotTold:      "a target can not be told of this",
		CodeTargetKind:   "a target of core.notify is not exactly one kind",
		CodeAddress:      "the address or a host of the server is not valid",
		CodeCertificate:  "the certificate of the server or its key is missing",
		CodeGrant:        "a grant of a plugin is not valid",
		CodeSandbox:      "nothing stands for a connection in the sandbox",
		CodeSimulator:    "a simulator of the sandbox is not valid",
	}
}
