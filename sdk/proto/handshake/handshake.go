// Package handshake holds what host and plugin must agree on before the first
// call: the part of the wire contract that plugin.proto cannot say.
package handshake

// The go-plugin handshake. The protocol version is the major of the package
// flowrun.plugin.v1.
const (
	CoreProtocol     = 1 // of go-plugin
	ProtocolVersion  = 1
	MagicCookieKey   = "FLOWRUN_PLUGIN"
	MagicCookieValue = "flowrun.plugin.v1"
	PluginSet        = "plugin" // key of the one entry in go-plugin's plugin map
)

// ProtocolMinor is the minor version of the protocol that this tree speaks:
// additions inside v1.
const ProtocolMinor = 1

// The environment that the host gives a plugin besides PATH, HOME, TMPDIR,
// LANG, TZ, the proxy variables and the names that were granted.
const (
	// EnvLaunchTokenFD is the number of an open descriptor from which the launch
	// token can be read to its end, once: random text that both sides present with
	// every call. What stands in an environment can be read by others of the same user.
	EnvLaunchTokenFD = "FLOWRUN_LAUNCH_TOKEN_FD"
	// EnvLaunchToken had the token itself. Hosts do not set it any more; a plugin
	// takes it where it finds it, and the descriptor where there is one.
	EnvLaunchToken = "FLOWRUN_LAUNCH_TOKEN"
	EnvHostSocket  = "FLOWRUN_HOST_SOCKET"    // path of the unix socket of the Host service
	EnvSocketDir   = "PLUGIN_UNIX_SOCKET_DIR" // folder for the plugin's own socket
	// EnvLaunchMark names this start. It is no secret and nothing that a plugin needs:
	// by it the host finds the processes that a plugin left behind.
	EnvLaunchMark = "FLOWRUN_LAUNCH_MARK"

	// EnvDescribed stands there, as "1", where the host knows how these bytes describe
	// themselves: it has asked once, and has found nothing wrong. A plugin may leave out then
	// what it checks of itself.
	EnvDescribed = "FLOWRUN_DESCRIBED"

	// EnvMessageLimit is how many bytes of one message the host takes, when that
	// is not DefaultMessageLimit; at most MaxMessageLimit.
	EnvMessageLimit = "FLOWRUN_MESSAGE_LIMIT"

	// EnvProjectDir is the folder of the project, from which the paths of a config are
	// meant; absent where there is no project.
	EnvProjectDir = "FLOWRUN_PROJECT_DIR"
)

// LaunchTokenKey is the gRPC metadata key under which host and plugin present
// the launch token. A call without it, or with another, is Unauthenticated.
const LaunchTokenKey = "flowrun-launch-token"

// Message limits of both directions, in bytes.
const (
	DefaultMessageLimit = 8 << 20
	MaxMessageLimit     = 64 << 20
)

// RunKey is the gRPC metadata key under which a plugin names the run that a
// call of the Host service belongs to, for the state scope "run". The run must
// have a call in flight in the plugin. It may be left out while only one has.
const RunKey = "flowrun-run-id"

// CallKey is the gRPC metadata key under which the host names each Execute, and
// under which the plugin names it back in the calls of the Host service that it
// makes for it. The host then knows which call used which token: a 401 to one
// call renews no token that another call has got since. May be left out.
const CallKey = "flowrun-call-id"

// HostSocketKey is the gRPC metadata key under which a host names the socket of its Host
// service with each call to a plugin that a person started with --debug: that one was
// given no environment, and may have several hosts.
const HostSocketKey = "flowrun-host-socket"

// The files of a plugin that a person started with --debug, in a folder that nobody else
// can enter.
const (
	DebugSocket = "plugin.sock" // it listens here
	DebugToken  = "token"       // the launch token
	DebugStderr = "stderr"      // what it writes to stderr, where the system can copy that
)
