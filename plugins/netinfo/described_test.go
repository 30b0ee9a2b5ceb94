package netinfo

import (
	"slices"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/internal/service"
	"github.com/flowrun/flowrun/sdk"
)

// Bounds that the description has, as the tests of the rows ask for them.
const (
	maxMessage = 500 // of the service's own text in an error, in bytes
	maxName    = 253 // of a domain name
)

// domainProblems says what the description refuses of a domain name.
func domainProblems(name string) []sdk.Problem {
	s, err := service.Read(description)
	if err != nil {
		panic(err)
	}
	at := slices.IndexFunc(s.Actions, func(a service.Action) bool { return a.Name == "dns" })
	r, err := recipe.Decode(s.Actions[at].Recipe)
	if err != nil {
		panic(err)
	}
	return r.Refused(sdk.JSON(map[string]string{"domain": name}), nil)
}
