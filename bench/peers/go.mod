module github.com/flowrun/flowrun/bench/peers

go 1.26.0

require (
	github.com/adhocore/gronx v1.20.4
	github.com/flowrun/flowrun v0.0.0
	github.com/robfig/cron/v3 v3.0.1
)

replace github.com/flowrun/flowrun => ../..
