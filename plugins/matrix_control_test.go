package plugins

import (
	"net/http"

	"github.com/flowrun/flowrun/sdk"
)

// carelessConfig is the config of the plugin of the negative control.
type carelessConfig struct{ sdk.HTTPSettings }

type carelessInput struct{}

type carelessOutput struct {
	Done bool `json:"done"`
}

// careless is a plugin with the mistakes that the matrix must notice.
func careless() *sdk.Plugin {
	post := func(c *sdk.Call[carelessConfig], times int) (carelessOutput, error) {
		var out carelessOutput
		var last error
		for range times {
			response, err := c.HTTP().Do(&sdk.Request{Method: http.MethodPost, Path: "/write", JSON: map[string]string{}})
			if last = err; err == nil {
				last = response.JSON(&out)
			}
			if last == nil {
				break
			}
		}
		return out, last
	}
	return sdk.New("careless", "1.0.0", "Makes every mistake that the fault matrix looks for.",
		sdk.Once("twice", "Sends its write again by itself.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			return post(c, 2)
		}),
		sdk.Read("writes", "Is declared as a read and writes.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			return post(c, 1)
		}),
		sdk.Once("hasty", "Says of every failure that nothing has happened.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			out, err := post(c, 1)
			if err != nil {
				return out, &sdk.Error{Code: sdk.CodeUnavailable, Applied: sdk.NotApplied, Message: "it did not work"}
			}
			return out, nil
		}),
		sdk.Read("panics", "Panics on every answer that it does not like.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			if _, err := c.HTTP().Get("/read", nil); err != nil {
				panic("runtime error: " + err.Error())
			}
			return carelessOutput{}, nil
		}),
		sdk.Read("mumbles", "Says neither status nor what to do.", func(c *sdk.Call[carelessConfig], _ carelessInput) (carelessOutput, error) {
			if _, err := c.HTTP().Get("/read", nil); err != nil {
				return carelessOutput{}, &sdk.Error{Code: sdk.CodeUnavailable, Message: "failed"}
			}
			return carelessOutput{}, nil
		}),
	)
}
