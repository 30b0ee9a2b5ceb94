package recipe

import (
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// Built is the path and the query that a recipe without pages makes of an input.
func Built(r *Recipe, input sdk.Value) (string, url.Values, error) {
	request, err := r.request(nil, With{}, input)
	if err != nil {
		return "", nil, err
	}
	return request.Path, request.Query, nil
}
