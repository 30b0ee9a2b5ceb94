package dictionary

import "encoding/json"

// The output schemas of records that are passed on as the service wrote them,
// so that fields it adds later are kept. Texts may be null: the service's
// document does not promise phonetics and definitions for every word.

// wordSchema is the word record (D-07).
func wordSchema() json.RawMessage {
	return json.RawMessage(`{
	"type": "object",
	"properties": {
		"id": {"type": "integer", "description": "Id of the word."},
		"word": {"type": "string", "description": "The word."},
		"british": {"type": ["string", "null"], "description": "British phonetic transcription."},
		"american": {"type": ["string", "null"], "description": "American phonetic transcription."},
		"cx": {"type": ["string", "null"], "description": "Parts of speech."},
		"jbjs": {"type": ["string", "null"], "description": "Basic definitions in Chinese."},
		"url": {"type": ["string", "null"], "description": "Page of the word."}
	},
	"required": ["id", "word"]
}`)
}

// relatedSchema is the record of synonyms (D-08) or antonyms (D-09).
func relatedSchema(list string) json.RawMessage {
	return json.RawMessage(`{
	"type": "object",
	"properties": {
		"word": {"type": "string", "description": "The word that was asked for."},
		"` + list + `": {"type": "array", "description": "The ` + list + `; may be empty.", "items": {
			"type": "object",
			"properties": {
				"id": {"type": "integer", "description": "Id of the word."},
				"word": {"type": "string", "description": "The word."},
				"cx": {"type": ["string", "null"], "description": "Parts of speech."}
			},
			"required": ["id", "word"]
		}},
		"count": {"type": "integer", "description": "How many there are, as the service counts them."}
	},
	"required": ["word", "` + list + `", "count"]
}`)
}

// abbrSchema is the abbreviation record (D-11).
func abbrSchema() json.RawMessage {
	return json.RawMessage(`{
	"type": "object",
	"properties": {
		"id": {"type": "integer", "description": "Id of the abbreviation."},
		"abbr": {"type": "string", "description": "The abbreviation."},
		"full": {"type": ["string", "null"], "description": "Full English form."},
		"prc": {"type": ["string", "null"], "description": "Chinese meaning."},
		"meaning": {"type": ["string", "null"], "description": "Meaning."},
		"category_id": {"type": ["integer", "null"], "description": "Id of its category."},
		"url": {"type": ["string", "null"], "description": "Page of the abbreviation."}
	},
	"required": ["id", "abbr"]
}`)
}

// statsSchema is the statistics record (D-16).
func statsSchema() json.RawMessage {
	return json.RawMessage(`{
	"type": "object",
	"properties": {
		"word_count": {"type": "integer", "description": "Words."},
		"abbr_count": {"type": "integer", "description": "Abbreviations."},
		"scene_count": {"type": "integer", "description": "Scenes."},
		"cat_word_count": {"type": "integer", "description": "Words in categories."}
	},
	"required": ["word_count", "abbr_count", "scene_count", "cat_word_count"]
}`)
}
