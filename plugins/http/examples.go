package http

import "github.com/flowrun/flowrun/sdk"

// What the examples give.

// pageOutput is the output of the example of a page.
const pageOutput = `{"status":200,"ok":true,"kind":"json","headers":{"content-type":"application/json"},"repeated":{},` +
	`"body":{"things":[{"id":1,"name":"thing 1"},{"id":2,"name":"thing 2"}],"next":"2"},"error_body":null,"url":"https://api.example.com/things?limit=2",` +
	`"items":[{"id":1,"name":"thing 1"},{"id":2,"name":"thing 2"}],"next_cursor":"2"}`

// answered is the output of an example with a JSON body.
func answered(body string) sdk.Value {
	return sdk.Value(`{"status":200,"ok":true,"kind":"json","headers":{"content-type":"application/json"},"repeated":{},"body":` + body +
		`,"error_body":null,"url":"https://api.example.com/"}`)
}

// answeredNothing is the output of an example without a body.
func answeredNothing() sdk.Value {
	return sdk.Value(`{"status":204,"ok":true,"kind":"none","headers":{},"repeated":{},"body":null,"error_body":null,"url":"https://api.example.com/"}`)
}
