package oidc

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// person decides about a code at the pages of a server, as a browser would.
type person struct{ refuses bool }

var (
	formTag   = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
	hiddenTag = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// decide opens the address, types the code, logs in, and goes on until no page
// asks for anything more.
func (p person) decide(address, code string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar}
	response, err := client.Get(address)
	for range 10 {
		if err != nil {
			return err
		}
		page, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return err
		}
		form := formTag.FindStringSubmatch(string(page))
		switch {
		case p.isDone(string(page)):
			return nil
		case form == nil:
			return fmt.Errorf("the last page, %d of %s, does not say that it is done:\n%s", response.StatusCode, response.Request.URL, page)
		}
		target, err := response.Request.URL.Parse(html.UnescapeString(form[1]))
		if err != nil {
			return err
		}
		response, err = client.PostForm(target.String(), p.fill(form[2], code))
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("the pages do not end")
}

// fill fills in a form.
func (p person) fill(fields, code string) url.Values {
	values := url.Values{}
	for _, hidden := range hiddenTag.FindAllStringSubmatch(fields, -1) {
		values.Set(hidden[1], html.UnescapeString(hidden[2]))
	}
	for name, value := range map[string]string{"user_code": code, "login": "ada", "password": "any"} {
		if strings.Contains(fields, `name="`+name+`"`) && !values.Has(name) {
			values.Set(name, value)
		}
	}
	if p.refuses && values.Has("confirm") {
		values.Set("abort", "yes")
	}
	return values
}

// isDone reports the page that the server shows after the decision.
func (p person) isDone(page string) bool {
	if p.refuses {
		return strings.Contains(page, "interrupted")
	}
	return strings.Contains(page, "Sign-in Success")
}
