// Command flowrun-plugin-weather is a whole flowrun plugin: one connection, one
// action, its schemas, its errors.
package main

import (
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

type config struct {
	sdk.HTTPSettings
	APIKey string `json:"api_key,omitempty" doc:"Key of the weather service" secret:"true"`
}

type currentIn struct {
	City string `json:"city" doc:"Name of the city" min:"1" example:"Bonn"`
	Unit string `json:"unit" doc:"Unit of the temperature" enum:"celsius,fahrenheit" default:"celsius"`
}

type currentOut struct {
	Temperature float64 `json:"temperature" doc:"In the unit that was asked for"`
	Sky         string  `json:"sky" doc:"Such as clear or rain"`
}

func current(c *sdk.Call[config], in currentIn) (out currentOut, err error) {
	service := c.HTTP().WithHeader("X-Api-Key", c.Config.APIKey)
	err = service.GetJSON("/v1/current", url.Values{"city": {in.City}, "unit": {in.Unit}}, &out)
	return out, err
}

func main() {
	sdk.New("weather", "1.0.0", "The weather of a city",
		sdk.Read("current", "Read the weather of now", current, sdk.Example("Bonn", currentIn{City: "Bonn", Unit: "celsius"}, currentOut{Temperature: 17.5, Sky: "clear"})),
	).Serve()
}
