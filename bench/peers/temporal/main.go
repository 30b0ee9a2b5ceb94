// Command temporal measures a Temporal server as its dev server is set up, with all
// services in one process and SQLite in one file, beside a worker in the same process.
// -partition gives each queue one partition, no other setting is changed.
package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"

	"github.com/flowrun/flowrun/bench/peers/peer"
)

const (
	local     = "127.0.0.1"
	namespace = "bench"
	queue     = "bench"
)

func echo(_ context.Context, n int) (int, error) { return n, nil }

func options(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
}

func sequence(ctx workflow.Context, n int) (int, error) {
	for i := range n {
		if err := workflow.ExecuteActivity(options(ctx), echo, i).Get(ctx, nil); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func fan(ctx workflow.Context, n int) (int, error) {
	var results []workflow.Future
	for i := range n {
		results = append(results, workflow.ExecuteActivity(options(ctx), echo, i))
	}
	for _, r := range results {
		if err := r.Get(ctx, nil); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// nothing is a log that nobody reads.
type nothing struct{}

func (nothing) Debug(string, ...any) {}
func (nothing) Info(string, ...any)  {}
func (nothing) Warn(string, ...any)  {}
func (nothing) Error(string, ...any) {}

var _ sdklog.Logger = nothing{}

// configuration is that of the dev server: one shard, SQLite in the file.
func configuration(file string) (*config.Config, *config.SQL) {
	database := &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: file, ConnectAttributes: map[string]string{"mode": "rwc"}}
	port := freeport.MustGetFreePort()
	address := fmt.Sprintf("%s:%d", local, port)
	service := func(port int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, MembershipPort: freeport.MustGetFreePort(), BindOnLocalHost: true}}
	}
	c := &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: local}},
		Persistence: config.Persistence{
			DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: database}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": service(port), "history": service(freeport.MustGetFreePort()), "matching": service(freeport.MustGetFreePort()), "worker": service(freeport.MustGetFreePort()),
		},
		Archival:     config.Archival{History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"}},
		PublicClient: config.PublicClient{HostPort: address},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: "disabled"}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
	}
	return c, database
}

// serve starts a server on a fresh file.
func serve(file string, tuned bool) (temporal.Server, string, error) {
	c, database := configuration(file)
	if err := sqlite.SetupSchema(database); err != nil {
		return nil, "", err
	}
	n, err := sqlite.NewNamespaceConfig("active", namespace, false, nil)
	if err != nil {
		return nil, "", err
	}
	if err := sqlite.CreateNamespaces(database, n); err != nil {
		return nil, "", err
	}
	authorizer, err := authorization.GetAuthorizerFromConfig(&c.Global.Authorization)
	if err != nil {
		return nil, "", err
	}
	settings := dynamicconfig.StaticClient{}
	if tuned {
		settings[dynamicconfig.MatchingNumTaskqueueReadPartitions.Key()] = 1
		settings[dynamicconfig.MatchingNumTaskqueueWritePartitions.Key()] = 1
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(c), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(log.NewNoopLogger()),
		temporal.WithAuthorizer(authorizer), temporal.WithDynamicConfigClient(settings),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }),
	)
	if err != nil {
		return nil, "", err
	}
	return server, c.PublicClient.HostPort, server.Start()
}

func main() {
	tuned := flag.Bool("partition", false, "one partition of each queue")
	peer.Main(func(_ context.Context, dir string) (*peer.Engine, error) {
		server, address, err := serve(filepath.Join(dir, "store.sqlite"), *tuned)
		if err != nil {
			return nil, err
		}
		c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: nothing{}})
		if err != nil {
			return nil, err
		}
		w := worker.New(c, queue, worker.Options{})
		w.RegisterWorkflow(sequence)
		w.RegisterWorkflow(fan)
		w.RegisterActivity(echo)
		if err := w.Start(); err != nil {
			return nil, err
		}
		var last atomic.Int64
		run := func(f any) func(ctx context.Context, n int) error {
			return func(ctx context.Context, n int) error {
				started, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: strconv.FormatInt(last.Add(1), 10), TaskQueue: queue}, f, n)
				if err != nil {
					return err
				}
				return started.Get(ctx, nil)
			}
		}
		name := "Temporal 1.29.1 (as the dev server)"
		if *tuned {
			name = "Temporal 1.29.1 (as the dev server, one partition a queue)"
		}
		return &peer.Engine{
			Program: name, Durability: "SQLite's rollback journal in a file, synced at each commit (synchronous FULL, its default)", Sequence: run(sequence), Fan: run(fan),
			Close: func() error {
				w.Stop()
				c.Close()
				return server.Stop()
			},
		}, nil
	})
}
