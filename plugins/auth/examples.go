package auth

// What the examples give. Records whose fields are not documented are empty
// here: nothing is invented for them.
const (
	startOutput        = `{"flow_id":"9f2c51","user_code":"WDJB-MJHT","verification_url":"https://auth.example/device","verification_url_display":"auth.example/device","expires_at":"2026-03-02T09:59:30Z","interval_s":5}`
	pollOutput         = `{"state":"pending","wait_s":5}`
	waitOutput         = `{"state":"granted","scopes":["openid","email"],"missing_scopes":[],"expires_at":"2026-03-02T10:29:30Z"}`
	storedTokenOutput  = `{"token":"the access token","token_type":"Bearer","expires_at":"2026-03-02T10:29:30Z","scopes":["openid","email"],"refreshed":false}`
	renewedTokenOutput = `{"token":"the access token","token_type":"Bearer","expires_at":"2026-03-02T10:29:30Z","scopes":["openid","email"],"refreshed":true}`
	refreshOutput      = `{"expires_at":"2026-03-02T10:29:30Z","scopes":["openid","email"]}`
	revokeOutput       = `{"revoked":true}`
	statusOutput       = `{"state":"valid","renewable":true,"expires_at":"2026-03-02T10:29:30Z","refresh_expires_at":null,"scopes":["openid","email"]}`
	resourceOutput     = `{"status":200,"headers":{"content-type":"application/json"},"body":{"name":"Maria"}}`
	deploymentsOutput  = `{"response":[]}`
	firstUsersOutput   = `{"users":[{"id":"2819c223","userName":"maria@example.com"}],"total":1,"next_cursor":null,"response":{"totalResults":1,"startIndex":1,"Resources":[{"id":"2819c223","userName":"maria@example.com"}]}}`
	laterUsersOutput   = `{"users":[{"id":"f7a1","userName":"jan@example.com"}],"total":101,"next_cursor":null,"response":{"totalResults":101,"startIndex":101,"Resources":[{"id":"f7a1","userName":"jan@example.com"}]}}`
)
