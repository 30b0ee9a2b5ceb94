package editor

import "github.com/flowrun/flowrun/engine/plan"

// words are the parts of the language that its keys share.
func words(connections []string) object {
	connection := object{"type": "string", "description": "A connection of flowrun.yaml; without it the one named like the plugin, else the plugin's only one."}
	if len(connections) > 0 {
		connection["examples"] = connections
	}
	return object{
		"expression": object{"type": "string", "pattern": `\$\{\{`},
		"duration": object{
			"type": "string", "pattern": `^(?:[0-9]+(?:ms|s|m|h|d))+$|^P[0-9T]|\$\{\{`, "examples": []string{"30s", "6h", "7d", "PT20M"},
		},
		"condition":  object{"type": []string{"string", "boolean"}, "description": "A bare expression that gives true or false."},
		"connection": connection,
		"retry": object{
			"type": "object", "additionalProperties": false,
			"properties": object{
				"attempts":  described(object{"type": "integer", "minimum": 1}, "How often the call is sent, the first time counted. Default 4."),
				"delay":     described(ref("duration"), "Before the second attempt. Default 1s."),
				"factor":    described(object{"type": "number"}, "By which the delay grows. Default 2."),
				"max_delay": described(ref("duration"), "The longest delay. Default 30s."),
				"jitter":    described(object{"type": "number", "minimum": 0, "maximum": 1}, "Share by which delays vary. Default 0.2."),
				"on":        described(object{"type": "array", "items": object{"enum": plan.ErrorKinds()}}, "The kinds of errors that are tried again."),
			},
		},
		"steps":  object{"type": "array", "minItems": 1, "items": ref("step")},
		"schema": schemaWords(),
	}
}

// schemaWords are those of inputs, state, forms and webhook bodies.
func schemaWords() object {
	count := object{"type": "integer", "minimum": 0}
	return object{
		"type": "object", "additionalProperties": false,
		"properties": object{
			"type":  object{"enum": []string{"string", "integer", "number", "boolean", "array", "object", "null"}},
			"const": object{}, "enum": object{"type": "array"},
			"default":     described(object{}, "Taken where no value is given; an input without it is required."),
			"description": object{"type": "string"},
			"nullable":    described(object{"type": "boolean"}, "Null is a value too."),
			"minimum":     object{"type": "number"}, "maximum": object{"type": "number"},
			"minLength": count, "maxLength": count, "minItems": count, "maxItems": count,
			"pattern":              described(object{"type": "string"}, "A regular expression (RE2)."),
			"format":               described(object{"type": "string", "examples": []string{"date-time", "duration"}}, "date-time is a time, duration a duration."),
			"items":                ref("schema"),
			"properties":           schemaMap(),
			"required":             object{"type": "array", "items": object{"type": "string"}},
			"additionalProperties": object{"anyOf": []any{object{"type": "boolean"}, ref("schema")}},
		},
	}
}

func schemaMap() object { return object{"type": "object", "additionalProperties": ref("schema")} }

// described gives a schema a description. Beside a $ref draft-07 ignores other
// words, so that one is wrapped.
func described(s object, text string) object {
	if _, isRef := s["$ref"]; isRef {
		return object{"allOf": []any{s}, "description": text}
	}
	s["description"] = text
	return s
}

func text(description string) object {
	return described(object{"type": []string{"string", "number", "boolean"}}, description)
}

func workflowWords() object {
	return object{
		"flowrun":     described(object{"const": "v1"}, "The version of the language."),
		"name":        text("The workflow's name; the file's without it."),
		"description": text("What the workflow is for."),
		"labels":      described(object{"type": "object"}, "Names and values by which runs are found."),
		"inputs":      described(schemaMap(), "What a run is given: names with their types."),
		"triggers":    described(object{"type": "object", "minProperties": 1, "additionalProperties": triggerWords()}, "What starts a run besides people."),
		"concurrency": described(object{"anyOf": []any{object{"type": []string{"string", "number"}}, object{
			"type": "object", "additionalProperties": false,
			"properties": object{
				"key":       text("Runs with the same key share the limit."),
				"limit":     object{"type": "integer", "minimum": 1},
				"on_full":   object{"enum": []string{"queue", "latest", "skip", "fail", "cancel_running"}},
				"queue_max": object{"type": "integer", "minimum": 1},
			},
		}}}, "How many runs go on at once, and what happens to more."),
		"timeout": described(ref("duration"), "The longest that a run may take, waits included. Default 24h."),
		"defaults": described(object{
			"type": "object", "additionalProperties": false,
			"properties": object{"timeout": ref("duration"), "retry": ref("retry")},
		}, "For all steps that call a plugin."),
		"state":      described(schemaMap(), "Values that are kept between runs, with their types."),
		"steps":      described(ref("steps"), "What is done. Without `needs` a step follows the one above it."),
		"outputs":    described(object{"type": "object"}, "What the run gives."),
		"on_success": described(ref("steps"), "After a run that succeeded."),
		"on_failure": described(ref("steps"), "After a run that failed or timed out; they see `error`."),
		"finally":    described(ref("steps"), "At the end of every run."),
	}
}

func stepWords() object {
	kinds := object{}
	for _, kind := range plan.ErrorKinds() {
		kinds[string(kind)] = object{"enum": []string{"continue", "fail", "pause"}}
	}
	return object{
		"id":           described(object{"type": "string", "pattern": "^[a-z][a-z0-9_]*$"}, "By which other steps read this one."),
		"name":         text("For people."),
		"with":         described(object{"type": "object"}, "The action's inputs."),
		"connection":   ref("connection"),
		"let":          described(object{"type": "object", "minProperties": 1}, "Values, computed in order; later ones see earlier ones."),
		"set_state":    described(object{"type": "object", "minProperties": 1}, "New values of `state`, kept when the run succeeds."),
		"foreach":      described(object{"type": []string{"string", "array"}}, "The list whose items the steps are run for."),
		"as":           text("The item's name inside of the loop. Default `item`."),
		"key":          described(expression(), "What tells an item from the others, so that a resume runs only what is missing."),
		"max_parallel": described(object{"type": "integer", "minimum": 1, "maximum": 256}, "Items at a time. Default 16."),
		"collect":      described(object{}, "What one item yields."),
		"steps":        described(ref("steps"), "The steps of one item."),
		"needs": described(object{"anyOf": []any{
			object{"type": "string"}, object{"type": "array", "items": object{"type": "string"}},
		}}, "The steps that this one follows; [] starts it at once."),
		"if":     described(ref("condition"), "A bare expression; the step is skipped when it gives false."),
		"run_if": described(object{"enum": []string{"ok", "failed", "any"}}, "What must have become of the steps before. Default ok."),
		"repeat": described(object{
			"type": "object", "additionalProperties": false, "required": []string{"until", "every"},
			"properties": object{"until": ref("condition"), "every": ref("duration"), "max": object{"type": "integer", "minimum": 1}},
		}, "Call again until a condition on `result` holds."),
		"retry":   described(ref("retry"), "How a failed call is tried again."),
		"timeout": described(ref("duration"), "Of one attempt."),
		"within":  described(ref("duration"), "Of the whole step: attempts, pages, waits."),
		"cache":   described(ref("duration"), "How long the answer is used again; for actions with effect read."),
		"paginate": described(object{
			"type": "object", "additionalProperties": false,
			"properties": object{"max_pages": object{"type": "integer", "minimum": 1}, "max_items": object{"type": "integer", "minimum": 1}},
		}, "Read page by page; each page is kept."),
		"incremental": described(object{
			"type": "object", "additionalProperties": false, "required": []string{"cursor"}, "properties": object{"cursor": object{"type": "string"}},
		}, "Read only what is new since the last run that succeeded."),
		"on_error": described(object{"anyOf": []any{
			object{"enum": []string{"continue", "fail", "pause", "stop", "collect"}},
			object{"type": "object", "properties": kinds, "additionalProperties": false},
		}}, "What follows a failure: for all kinds, or one by one. A loop takes stop or collect."),
		"on_unknown": described(object{"enum": []string{"ask", "retry", "fail"}}, "What follows where nobody knows whether a write happened. Default ask."),
	}
}

func triggerWords() object {
	return object{
		"type": "object", "additionalProperties": false,
		"properties": object{
			"cron":     text("Five fields, or a name such as @daily."),
			"every":    described(ref("duration"), "An interval."),
			"timezone": text("An IANA name. Default UTC."),
			"jitter":   described(ref("duration"), "Up to how much a start is put off by chance."),
			"dst": object{"type": "object", "additionalProperties": false, "properties": object{
				"skipped_time": object{"enum": []string{"run_after", "skip"}}, "repeated_time": object{"enum": []string{"run_once", "run_twice"}},
			}},
			"catchup": object{"type": "object", "additionalProperties": false, "properties": object{
				"window": ref("duration"), "keep": object{"enum": []string{"none", "latest", "all"}},
			}},
			"pause_after_failures": object{"type": "integer", "minimum": 1},
			"inputs":               described(object{"type": "object"}, "The run's inputs."),
			"webhook": object{"type": "object", "additionalProperties": false, "required": []string{"auth"}, "properties": object{
				"auth": object{"type": "object"}, "dedupe": object{"type": "string"}, "body": ref("schema"),
			}},
			"poll": object{"type": "object", "additionalProperties": false, "required": []string{"uses", "every", "items", "key"}, "properties": object{
				"uses": object{"type": "string"}, "with": object{"type": "object"}, "connection": ref("connection"), "every": ref("duration"),
				"items": expression(), "key": expression(),
			}},
			"after": object{"type": "object", "additionalProperties": false, "required": []string{"workflow"}, "properties": object{
				"workflow": object{"type": "string"},
				"status": object{"anyOf": []any{
					object{"enum": []string{"succeeded", "failed", "canceled", "timed_out"}},
					object{"type": "array", "items": object{"enum": []string{"succeeded", "failed", "canceled", "timed_out"}}},
				}},
			}},
		},
	}
}
