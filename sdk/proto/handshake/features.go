package handshake

// The words of Capabilities: what one side has beyond the calls that all have. The
// README of the protocol says what each means. A word that is not known is passed over.
const (
	FeatureReconcile      = "reconcile"       // of a plugin: it answers Reconcile
	FeatureValidateConfig = "validate_config" // of a plugin: it looks at ValidateRequest.config
	FeatureSettings       = "settings"        // of a plugin: it describes what a project tells it; of a host: it tells it, and hands recipes back
	FeatureIndex          = "index"           // of a plugin: it describes its actions one by one, by DescribeActions
	FeatureExecuteStream  = "execute_stream"  // of a plugin: it answers ExecuteStream

	FeatureState     = "state"      // of a host: GetState and PutState
	FeatureTokens    = "tokens"     // of a host: AcquireToken and CommitToken
	FeatureTokenPeek = "token_peek" // of a host: AcquireTokenRequest.peek
	FeaturePageNote  = "page_note"  // of a host: a page's note comes back with the next one
	FeatureAllPages  = "all_pages"  // of a host: it says that it reads on to the last page
	FeatureBlobs     = "blobs"      // of a host: PutBlob and GetBlob, where ExecuteRequest.blobs says so
)

// The bounds of a stream of calls, in bytes.
const (
	MaxStreamedPart = 64 << 10  // of a request, and of a part of an event
	StreamedWindow  = 256 << 10 // of the events of a call that the host has not taken yet: with as much under way a plugin waits
)

// The bounds of large values, in bytes.
const (
	MaxBlobPart   = 1 << 20 // of one part
	MaxBlobNote   = 4 << 10
	MaxBlobUpload = 200 // of the name of an upload
)

// HostFeatures returns what a host of this tree has, in the order of the README.
func HostFeatures() []string {
	return []string{FeatureState, FeatureTokens, FeatureTokenPeek, FeaturePageNote, FeatureAllPages, FeatureSettings, FeatureBlobs}
}
