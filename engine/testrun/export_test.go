package testrun

// Codes returns every code of this package with its title.
func Codes() map[string]string {
	return map[string]string{
		CodeVersion:     "the version of the test file is missing or not known",
		CodeShape:       "a value of a test file has the wrong shape",
		CodeUnknownKey:  "a test file has no such key",
		CodeMissingKey:  "a key of a test file is missing",
		CodeWord:        "a word of a test file is not one of those that are known here",
		CodeValue:       "a time, duration or number of a test file is not valid",
		CodeWorkflow:    "the workflow of a test file can't be read",
		CodeUnknownStep: "the workflow has no such step",
		CodeNotMockable: "the step is run for real and takes no answer",
		CodeAnswer:      "an answer is not exactly one of the kinds of answers",
		CodeOutput:      "an answer does not fit the schema of the action",
		CodeInput:       "the inputs of a case do not fit the workflow",
		CodeExpression:  "an expectation is not a valid expression",
		CodeDuplicate:   "two cases have the same name",
	}
}
