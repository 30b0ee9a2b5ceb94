module github.com/flowrun/flowrun/bench/peers/peer

go 1.26.0
