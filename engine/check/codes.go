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
	CodeStatic      = "FR2014"
	CodeLoopList    = "FR2015"
	CodeLoopKey     = "FR2016"
	CodeMissing     = "FR2017"
	CodeDepth       = "FR2018"
	CodeSchema      = "FR2019"
	CodeFormat      = "FR2020"
	CodeUnknownKey  = "FR2021"
	CodeShape       = "FR2022"
	CodeForeign     = "FR2023"

	CodeStateName    = "FR2040"
	CodeSetState     = "FR2041"
	CodeStateDefault = "FR2042"
	CodeCursorName   = "FR2043"

	CodeTriggerKind  = "FR2050"
	CodeTriggerRoot  = "FR2051"
	CodeCron         = "FR2052"
	CodeTimezone     = "FR2053"
	CodeTriggerKey   = "FR2054"
	CodeTriggerAfter = "FR2055"
	CodeTriggerItems = "FR2056"

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
	CodeUnknownTarget  = "FR4020"

	CodeWorkflowFile   = "FR4021"
	CodeWorkflowCycle  = "FR4022"
	CodeWorkflowDepth  = "FR4023"
	CodeWorkflowBroken = "FR4024"
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
		CodeStatic:      "an expression can't stand here",
		CodeLoopList:    "a loop needs a list",
		CodeLoopKey:     "a loop's key is not an expression that gives text or an integer",
		CodeMissing:     "a key is missing",
		CodeDepth:       "loops are nested too deep",
		CodeSchema:      "the schema of an input is not valid",
		CodeFormat:      "an output can't have this format",
		CodeUnknownKey:  "a key is not known here",
		CodeShape:       "a value has the wrong shape",
		CodeForeign:     "text looks like an expression of another product",

		CodeStateName:    "no state of this name is declared",
		CodeSetState:     "state can't be set here",
		CodeStateDefault: "a state value has neither a default nor may be null",
		CodeCursorName:   "the name of a cursor is not valid or already taken",

		CodeTriggerKind:  "a trigger is not exactly one kind of trigger",
		CodeTriggerRoot:  "a name can't be read in a trigger",
		CodeCron:         "a schedule is not valid",
		CodeTimezone:     "a time zone is not known",
		CodeTriggerKey:   "a key does not belong to this kind of trigger",
		CodeTriggerAfter: "the workflow that a trigger follows is not there",
		CodeTriggerItems: "a poll's items or key have the wrong type",

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
		CodeUnknownTarget:  "no target of core.notify has this name",

		CodeWorkflowFile:   "the file of a workflow as a step can't be read",
		CodeWorkflowCycle:  "workflows call each other in a circle",
		CodeWorkflowDepth:  "workflows call each other too deep",
		CodeWorkflowBroken: "the workflow that a step calls has errors",
	}
}
