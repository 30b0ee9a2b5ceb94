package check

// The codes of problems in a workflow's structure and references (FR2...) and
// in the inputs and connections of its actions (FR4...).
const (
	CodeID          = "FR2001"
	CodeDuplicateID = "FR2002"
	CodeCycle       = "FR2003"
	CodeUnknownStep = "FR2004"
	CodeHiddenStep  = "FR2005"
	CodeTooEarly    = "FR2006"
	CodeStepsWhole  = "FR2007"
	CodeName        = "FR2008"
	CodeWord        = "FR2009"
	CodeDuration    = "FR2010"
	CodeNumber      = "FR2011"
	CodeTooLong     = "FR2012"
	CodeLater       = "FR2013"
	CodeStatic      = "FR2014"
	CodeLoopList    = "FR2015"
	CodeLoopKey     = "FR2016"
	CodeMissing     = "FR2017"
	CodeDepth       = "FR2018"
	CodeSchema      = "FR2019"
	CodeFormat      = "FR2020"
	CodeUnknownKey  = "FR2021"
	CodeShape       = "FR2022"

	CodeUnknownAction  = "FR4001"
	CodeUnknownPlugin  = "FR4002"
	CodeUnknownField   = "FR4003"
	CodeMissingField   = "FR4004"
	CodeLiteral        = "FR4005"
	CodeType           = "FR4006"
	CodeRefused        = "FR4007"
	CodeNoConnection   = "FR4008"
	CodeOtherPlugin    = "FR4009"
	CodeWhichOne       = "FR4010"
	CodeNotForAction   = "FR4011"
	CodeNotAsked       = "FR4012"
	CodeSecretText     = "FR4013"
	CodeDeprecated     = "FR4014"
	CodeForgedSecret   = "FR4015"
	CodeNoneOrTooMany  = "FR4016"
	CodeWithoutPlugins = "FR4017"
)

// Codes returns every code of this package with its title.
func Codes() map[string]string {
	return map[string]string{
		CodeID:          "a step's id is not valid",
		CodeDuplicateID: "two steps have the same id",
		CodeCycle:       "steps wait for each other",
		CodeUnknownStep: "no step has this id",
		CodeHiddenStep:  "the step can't be seen from here",
		CodeTooEarly:    "the step can't have finished here",
		CodeStepsWhole:  "steps are read by their literal ids",
		CodeName:        "a name is not valid or already taken",
		CodeWord:        "a word is not one of those that are known here",
		CodeDuration:    "a duration is not valid",
		CodeNumber:      "a number is not valid here",
		CodeTooLong:     "a step may take longer than the workflow",
		CodeLater:       "this comes with a later version of flowrun",
		CodeStatic:      "an expression can't stand here",
		CodeLoopList:    "a loop needs a list",
		CodeLoopKey:     "a loop's key is not an expression that gives text or an integer",
		CodeMissing:     "a key is missing",
		CodeDepth:       "loops are nested too deep",
		CodeSchema:      "the schema of an input is not valid",
		CodeFormat:      "an output can't have this format",
		CodeUnknownKey:  "a key is not known here",
		CodeShape:       "a value has the wrong shape",

		CodeUnknownAction:  "the plugin has no such action",
		CodeUnknownPlugin:  "no plugin has this name",
		CodeUnknownField:   "the action has no such input",
		CodeMissingField:   "a required input is missing",
		CodeLiteral:        "a value does not fit its field",
		CodeType:           "an expression's result does not fit its field",
		CodeRefused:        "the plugin refuses the input",
		CodeNoConnection:   "no connection has this name",
		CodeOtherPlugin:    "the connection belongs to another plugin",
		CodeWhichOne:       "it is not clear which connection is meant",
		CodeNotForAction:   "the action does not support this",
		CodeNotAsked:       "the plugin could not be asked about the input",
		CodeSecretText:     "a secret can't stand here",
		CodeDeprecated:     "the action is deprecated",
		CodeForgedSecret:   "a secret reference can't be written out",
		CodeNoneOrTooMany:  "exactly one of several inputs must be given",
		CodeWithoutPlugins: "the action needs no connection",
	}
}
