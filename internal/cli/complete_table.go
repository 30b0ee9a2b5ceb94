package cli

import "github.com/flowrun/flowrun/engine/runs"

var yamlFiles = []string{"yaml", "yml"}

// completedArguments says which nouns the arguments of commands are.
func (a *app) completedArguments() map[string]places {
	every := runsFor(anyRun(), nil)
	asking := runsFor(askingRun(), asksPerson)
	ofRun := func(nouns ...noun) places { return places{nouns: nouns, order: true} }
	one := func(nouns ...noun) places { return places{nouns: nouns} }
	many := func(of noun) places { return places{nouns: []noun{of}, many: true} }
	file := places{nouns: []noun{workflowsOrFiles}, files: yamlFiles}
	files := places{nouns: []noun{workflowsOrFiles}, files: yamlFiles, many: true}
	return map[string]places{
		"runs show": ofRun(every, stepsOfRun), "runs logs": ofRun(every, stepsOfRun), "runs events": ofRun(every), "runs export": ofRun(every),
		"runs watch": ofRun(runsFor(goingRun(), nil)), "runs cancel": ofRun(runsFor(cancelRun(), nil)),
		"runs resume": ofRun(runsFor(resumeRun(), canResume)), "runs rerun": ofRun(runsFor(endedRun(), nil)),
		"runs output": ofRun(runsFor(doneRun(), nil), outputsOfRun), "runs deliver": ofRun(runsFor(deliverRun(), nil), outputsOfRun),
		"runs rm":      {nouns: []noun{runsFor(endedRun(), nil)}, many: true, order: true},
		"runs ack":     {nouns: []noun{runsFor(unlookedRuns(), hasFailed)}, many: true, order: true},
		"runs approve": ofRun(asking, stepsThat(runs.NeedApprove)), "runs reject": ofRun(asking, stepsThat(runs.NeedApprove)),
		"runs signal": ofRun(runsFor(signalRun(), nil), stepsThat(runs.NeedSignal)), "runs resolve": ofRun(runsFor(unknownRun(), unknownOutcome), stepsThat(runs.NeedResolve)),

		"run": file, "plan": file, "graph": file, "validate": files, "fmt": {nouns: []noun{workflowFiles}, files: yamlFiles, many: true}, "test": files,
		"import": {files: yamlFiles},

		"call": one(callable), "explain": one(topics), "help": many(commandNames), "man": many(commandNames), "config explain": one(settingKeys),

		"workflows show": one(workflowNames), "workflows enable": one(workflowNames), "workflows disable": one(workflowNames), "workflows edit": one(workflowNames),

		"state get": one(workflowNames, stateNames), "state set": one(workflowNames, stateNames), "state reset": one(workflowNames, stateNames),
		"state history": one(workflowNames, stateNames), "state cursors": one(workflowNames),
		"state plugins list": one(pluginNames), "state plugins rm": one(pluginNames),

		"schedules pause": one(schedules), "schedules resume": one(schedules), "schedules trigger": one(schedules), "schedules backfill": one(schedules),
		"schedules next": one(schedules), "schedules fires": one(triggers),

		"connections test": many(connectionNames), "connections login": one(connectionNames), "connections logout": one(connectionNames),
		"secrets set": one(secretNames), "secrets rm": one(secretNames), "tokens rm": one(tokenNames), "login": one(loginServers), "logout": one(loginServers),

		"plugins show": one(pluginNames), "plugins actions": one(pluginNames), "plugins docs": one(pluginNames), "plugins logs": one(pluginNames),
		"plugins upgrade": one(ownPlugins), "plugins update": one(ownPlugins), "plugins remove": one(ownPlugins), "plugins grants": one(pluginNames),
	}
}

// completedFlags says which nouns the values of flags are: of one command, or of all that
// have the flag.
func (a *app) completedFlags() map[string]places {
	one := func(of noun) places { return places{nouns: []noun{of}} }
	return map[string]places{
		"--workflow": one(workflowNames), "--input": one(inputsOf), "--connection": one(connectionNames), "--live": one(connectionNames),
		"runs rerun --from": one(stepsOfRun), "runs logs --step": one(stepsOfRun),
		"test --record": {nouns: []noun{runsFor(anyRun(), nil)}, order: true}, "eval --run": {nouns: []noun{runsFor(anyRun(), nil)}, order: true},
	}
}
