module github.com/flowrun/flowrun/bench/peers

go 1.26.0

require (
	github.com/adhocore/gronx v1.20.4
	github.com/flowrun/flowrun v0.0.0
	github.com/robfig/cron/v3 v3.0.1
)

require github.com/flowrun/flowrun/sdk v0.1.0 // indirect

replace github.com/flowrun/flowrun => ../..

replace github.com/flowrun/flowrun/sdk => ../../sdk
