"""Single expressions: the compiled result, or exception, is NumPy's."""

import numpy as np
import pytest
from support.compare import check

EXPRESSIONS = """
np.array([300],dtype=np.uint8)
np.array([300.5],dtype=np.int8)
np.array([-1],dtype=np.uint8)
np.full(3,300,np.uint8)
np.full(3,300.0,np.uint8)
np.full_like(np.zeros(2,np.int8),300)
np.asarray([1,2**70])
np.array([2**63])
np.array([2**63,-1])
np.array([1,2.5,True])
np.array([np.int8(3),4])
np.array([1,1j])
np.array([[1,2],[3,4.]],dtype=np.float32)
np.array(300,dtype=np.uint8)
np.uint8(300)
np.array([np.nan],dtype=np.int32)
np.arange(250,260,dtype=np.uint8)
np.array([1e400])
np.array([True,2])
np.array([[]])
np.array([x,x])
np.array([x[0],1])
np.array([1,2],dtype=bool)
np.where(x>0,300,np.uint8(1))
np.clip(np.arange(5,dtype=np.uint8),0,300)
np.clip(np.arange(5,dtype=np.uint8),-1,3)
np.array([3,4],dtype=np.uint8)==300
np.array([3,4],dtype=np.uint8)<-1
np.full(2,True)
np.array((1,2,3),dtype='f4')
np.linspace(0,1,5,dtype=int)
np.array([3.7,-2.5]).astype(np.uint8)
np.zeros(3,dtype=np.int8)+np.int16(5)
np.add(np.uint8(200),100)
np.uint8(200)+100
np.int8(-128)//-1
abs(np.int8(-128))
-np.uint8(1)
np.array([1,2])**-1
np.int64(2)**-1
2**np.array([1,-1])
np.array([2,3],np.uint8)**2
np.left_shift(1,np.array([64,65]))
np.array([5])%-3
divmod(np.array([5,-5]),3)
np.float32(1)/3
np.float32(1)+1e40
round(np.float64(2.5))
int(np.float64(2.7))
np.sum(np.array([200,100],np.uint8))
np.prod(np.array([100,100],np.int8))
np.mean(np.array([1,2],np.float16))
np.cumsum(np.array([True,True]))
x.sum(dtype=np.float32)
np.array([1,2,3])/0
np.sqrt(-x)
np.maximum(x,np.nan)
np.array([1,2])@np.array([3,4])
np.bool_(True)+np.bool_(True)
~np.array([True])
-np.array([1],np.uint16)
np.array([True])-np.array([True])
np.invert(np.uint8(3))
np.sign(np.array([-0.0,np.nan]))
np.round(2.675,2)
np.floor_divide(7,-2.)
np.hypot(3,4)
np.isclose(x,1.0+1e-9)
x.argmax()
np.unravel_index(5,(2,3))
np.broadcast_shapes((1,3),(2,1))
np.result_type(np.uint8,-1)
x[np.array([True,False,True])]
x[[0,-1]]
x[...,None]
x[1:10:2]
x[::-1]
np.r_[1:3,x]
np.take(x,5)
x[5]
x[1.0]
x['a']
np.concatenate([x,[1]])
np.stack([x,x],axis=2)
np.zeros(-1)
np.zeros((2,3),order='F')
np.ones(3,dtype='i1,f4')
np.float64('nan')
np.int64('3')
np.frombuffer(b'abc',dtype=np.uint8)
np.fromiter((i*i for i in range(3)),dtype=float)
np.array(range(3))
np.array([range(2),range(2)])
np.array([[1,2],[3]])
np.asarray(x,dtype=int)
np.array(x,copy=False)
np.array(x,ndmin=2)
np.uint8(x.size + 297)
np.array([x.size + 300], dtype=np.int8)
np.array([[1, -2], [3, 400]], dtype=np.uint8)
np.arange(4) ** np.arange(4)
np.arange(4) ** (np.arange(4) - 1)
np.power(2, -x.size)
np.power(np.int8(2), np.uint8(3))
np.array([True]) ** 2
np.broadcast_to(x, (10**7, 10**6, 3)).copy()
np.signbit(x + 1j)
np.gcd(x > 0, True)
np.lcm(np.array([127], np.int8), 2)
np.arctan2(np.arange(3, dtype=np.int8), np.arange(3, dtype=np.uint8)).dtype
np.hypot(np.arange(3, dtype=np.int16), np.arange(3, dtype=np.uint16)).dtype
np.copysign(x > 0, 2)
np.copysign(x > 0, np.int8(2))
(x * (0.5 + 1j)) ** 3
(x * (0.5 + 1j)) ** np.array([-3, 1, 7])
0 ** (x * np.array([1, 1j, -1]))
(x > 0) ** 2
np.power(x > 0, 2)
1j + x.sum()
1j == x.sum()
np.interp(x + 1j, [0.0, 1.0], [1.0, 2.0])
np.linspace(x.astype(np.float32)[0], 3, 4)
np.linspace(x.astype(np.float16)[0], 3, 4)
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_expression(expression):
    namespace = {"np": np}
    exec(f"def f(x):\n    return {expression}", namespace)
    function = namespace["f"]
    with np.errstate(all="ignore"):
        check(function, (np.ones(3),), rounds=1)
