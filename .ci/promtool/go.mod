// promtool, which tests the alerts. A module of its own: it depends on hundreds of others. It is built
// with the tag remove_all_sd, without the clients of all clouds.
module github.com/tocsin/tocsin/promtool

go 1.26.7

require github.com/prometheus/prometheus v0.316.0
