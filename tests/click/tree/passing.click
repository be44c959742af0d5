// Two devices: packets of odd length leave through a queue, all others are counted and dropped.
define($capacity 3)
in :: FromDevice(eth0) -> first :: Stamp(1) -> odd :: Odd;
odd [0] -> second :: Stamp(2) -> Discard;
odd [1] -> q :: Queue($capacity) -> third :: Stamp(3) -> ToDevice(eth0);
