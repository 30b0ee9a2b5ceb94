package eval

// FunctionDoc describes a function for `flowrun explain` and completion.
type FunctionDoc struct {
	Name      string
	Signature string
	Doc       string
	Example   string
}

// Functions returns the documentation of all functions, sorted by name.
func Functions() []FunctionDoc { return nil }

// FunctionNames returns the names of all functions, sorted.
func FunctionNames() []string { return nil }
