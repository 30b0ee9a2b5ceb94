module github.com/flowrun/flowrun/bench/peers/restate

go 1.26.0

require github.com/flowrun/flowrun/bench/peers/peer v0.0.0

replace github.com/flowrun/flowrun/bench/peers/peer => ../peer
