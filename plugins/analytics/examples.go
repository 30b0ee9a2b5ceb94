package analytics

// What the examples give. Records whose fields are not documented are empty
// here: nothing is invented for them.
const (
	topPagesOutput  = `{"rows":[{"pathname":"/","visits":412,"uniques":390},{"pathname":"/pricing","visits":97,"uniques":91}],"count":2}`
	byHourOutput    = `{"rows":[{"timestamp":"2026-03-02 00:00:00","visits":"3"},{"timestamp":"2026-03-02 01:00:00","visits":"5"}],"count":2}`
	revenueOutput   = `{"rows":[{"utm_campaign":"spring","conversions":12,"value":58800},{"utm_campaign":"","conversions":3,"value":14700}],"count":2}`
	visitorsOutput1 = `{"total":7}`
	detailedOutput  = `{"total":7,"content":[{"hostname":"www.example.com","pathname":"/","total":5}],"referrers":[{"referrer_hostname":"search.example","referrer_pathname":"","total":2}],"content_truncated":false,"referrers_truncated":false}`
)
