package dictionary

// What the examples give. Records whose fields are not documented are empty
// here: nothing is invented for them.
const (
	wordOutput        = `{"id":1024,"word":"happy","british":"[ˈhæpi]","american":"[ˈhæpi]","cx":"adj.","jbjs":"adj. 快乐的；幸福的","url":"https://dictionary.example/word/happy"}`
	synonymsOutput    = `{"word":"happy","synonyms":[{"id":411,"word":"glad","cx":"adj."}],"count":1}`
	antonymsOutput    = `{"word":"happy","antonyms":[{"id":902,"word":"sad","cx":"adj."}],"count":1}`
	abbrOutput        = `{"id":1,"abbr":"API","full":"Application Programming Interface","prc":"应用程序接口","meaning":"computing","category_id":3,"url":"https://dictionary.example/abbr/1"}`
	letterOutput      = `{"items":[{"word":"sad"},{"word":"sea"}],"next_cursor":null,"data":{"words":[{"word":"sad"},{"word":"sea"}]}}`
	largeLetterOutput = `{"items":[],"next_cursor":null,"data":{"words":[]}}`
	statsOutput       = `{"word_count":103976,"abbr_count":51233,"scene_count":44,"cat_word_count":7810}`
	searchOutput      = `{"words":[]}`
)
