package auth

import (
	"net/http"
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// DeploymentsInput is the input of deployments_list.
type DeploymentsInput struct {
	Credential string `json:"credential,omitempty" enum:"api_key,oauth" doc:"The API key, or the connection's login. Without it the API key where one is set."`
}

// DeploymentsOutput is the output of deployments_list.
type DeploymentsOutput struct {
	Response sdk.Value `json:"response" doc:"The answer as it came: a list or an object; its shape is not documented."`
}

// deploymentsList is action auth.deployments_list (M1).
func (p *plugin) deploymentsList(c *sdk.Call[Config], in DeploymentsInput) (DeploymentsOutput, error) {
	response, err := p.deployments(c, in.Credential)
	if err != nil {
		return DeploymentsOutput{}, err
	}
	return DeploymentsOutput{Response: response.Body}, nil
}

func (p *plugin) deployments(c *sdk.Call[Config], credential string) (*sdk.Response, error) {
	if credential == "" {
		credential = "oauth"
		if c.Config.APIKey != "" {
			credential = "api_key"
		}
	}
	if err := manageable(c); err != nil {
		return nil, err
	}
	authorization, err := p.restCredential(c, credential)
	if err != nil {
		return nil, err
	}
	return manage(c, "/api/v1/deployments", nil, authorization, "application/json")
}

// restCredential is the header of a credential: its kind fixes the scheme, since
// an API key sent as Bearer is refused.
func (p *plugin) restCredential(c *sdk.Call[Config], kind string) (string, error) {
	if kind == "api_key" {
		if c.Config.APIKey == "" {
			return "", lacks(c, "api_key", "the credential of this call")
		}
		return "Api-Key " + c.Config.APIKey, nil
	}
	token, _, err := p.acquire(c, sdk.TokenRequest{})
	if err != nil {
		return "", err
	}
	return "Bearer " + token.AccessToken, nil
}

// manageable refuses a connection without management_url.
func manageable(c *sdk.Call[Config]) error {
	if c.Config.ManagementURL == "" {
		return lacks(c, "management_url", "it is the root of the management and SCIM APIs")
	}
	return nil
}

// manage reads a path below management_url. A 401 comes without a body;
// other error bodies are not documented and shown as far as they can be.
func manage(c *sdk.Call[Config], path string, query url.Values, authorization, accept string) (*sdk.Response, error) {
	response, err := c.HTTP().WithBase(c.Config.ManagementURL).Do(&sdk.Request{
		Path: path, Query: query,
		Header: http.Header{"Authorization": {authorization}, "Accept": {accept}},
	})
	if err != nil {
		return nil, hinted(err)
	}
	_, err = response.Document()
	return response, err
}
